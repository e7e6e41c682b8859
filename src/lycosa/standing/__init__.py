"""How much a page matters, told from the page alone: a model learnt from pages whose in-links are known."""
