import time,msgspec
from lycosa.strategies.settled import SettledUrls
s=SettledUrls(hash((i,i*7)) for i in range(500_000))
t=time.time(); b=msgspec.json.encode(s.state()); print("500k settled:",round(len(b)/1e6,1),"MB",round(time.time()-t,3),"s per checkpoint")
