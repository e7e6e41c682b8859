"""Large networks of peers: churn, interest locality, and the compiled search kernel."""
