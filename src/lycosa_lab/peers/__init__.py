"""Large networks of peers that come and go (churn), and the compiled kernel that searches them."""
