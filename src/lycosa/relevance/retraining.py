RETRAIN_AT = (100, 300, 1000)
def least_like(scored, share=.25):
    k=int(len(scored)*share); return [x for _,x in sorted(scored,key=lambda s:s[0])[:k]]
