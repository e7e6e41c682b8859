"""Words too common to characterise a topic, of the languages most pages are written in.

They are left out of pages in any language, so that a few meaningful words are lost too: "war", "die", "son", "door",
"hat" and "dove" are common words of other languages than English.
"""

_ENGLISH = """
a about above after again against all also am an and any are aren as at be because been before being below between
both but by can cannot could couldn did didn do does doesn doing don down during each else ever every few for from
further get got had hadn has hasn have haven having he her here hers herself him himself his how however i if in into
is isn it its itself just let ll may me might more most much must my myself no nor not now of off on once one only or
other our ours ourselves out over own per quite rather re really same shall she should shouldn since so some still
such than that the their theirs them themselves then there these they this those through thus to too under until up
upon us ve very via was wasn we were weren what when where whether which while who whom whose why will with within
without won would wouldn yes yet you your yours yourself yourselves
"""
_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis bist da damit dann
das dass dazu dein deine dem den denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch
dort du durch ein eine einem einen einer eines er es etwas euch euer für gegen hab habe haben hat hatte hatten hier
hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jetzt kann kein
keine keinem keinen können könnte machen man mehr mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder
ohne schon sehr sein seine seinem seinen seiner seit sich sie sind so solche soll sollte sondern sonst über um und uns
unser unter vom von vor war waren warum was weil welche wenn wer werde werden wie wieder will wir wird wirst wo wurde
wurden würde zu zum zur zwar zwischen
"""
_FRENCH = """
ai ainsi alors après au aucun aussi autre autres aux avait avant avec avez avoir avons c ce cela ces cet cette ceux
chez comme d dans de depuis des deux dont du elle elles en encore entre est et étaient était être eu fait font il ils
j je jusqu l la le les leur leurs lors lui m mais même mes moins mon n ne ni nos notre nous on ont ou où par pas
pendant peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se sera ses si son sont sous
sur t ta tandis te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
"""
_SPANISH = """
al algo algunos ante antes aquel aquella así aunque cada como con contra cual cuando de del desde donde dos durante e
el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta está están estas este esto estos fue
fueron ha había han hasta hay la las le les lo los más me mi mientras mis mucho muy nada ni no nos nosotros nuestra
nuestro o os otra otras otro otros para pero poco por porque pues que qué quien se sea según ser si sí sido sin sobre
son su sus también tan tanto te tiene tienen toda todas todo todos tu tus un una unas uno unos usted y ya yo
"""
_ITALIAN = """
agli ai al alla alle allo altri altro anche ancora avere che chi ci come con contro cui da dagli dai dal dalla dalle
dei del della delle dello di dopo dove due e ed era erano essere fra gli ha hanno i il in io la le lei li lo loro lui
ma mentre mi mia mio molto ne negli nei nel nella nelle non nostra nostro o ogni per perché più poi prima può quale
quando quanto quella quelle quelli quello questa queste questi questo qui se sei senza si sia sono sopra sua sue sul
sulla suo suoi tra tu tua tuo tutti tutto un una uno vi voi
"""
_DUTCH = """
aan al alle alleen als ander andere bij dan dat de deze die dit doch doen door dus een en er ge geen haar had heb
hebben heeft hem het hier hij hoe hun iets ik in is ja je kan kon kunnen maar me meer men met mij mijn moet na naar
niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u uit uw van veel voor want waren was
wat we wel werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou
"""
_PORTUGUESE = """
ao aos aquela aquele as até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era eram
essa esse esta está este estes eu foi foram há isso isto já lhe mais mas mesmo meu minha muito na nas não nem no nos
nós nossa nosso num numa o os ou para pela pelas pelo pelos por porque qual quando que quem são se sem ser seu seus só
sua suas também te tem têm tinha um uma você vocês
"""
STOP_WORDS = frozenset(" ".join((_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _DUTCH, _PORTUGUESE)).split())
