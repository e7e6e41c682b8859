"""Large networks of peers: churn, replication, interest locality, and the compiled search kernel."""
