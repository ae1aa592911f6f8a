"""The filters and scores of kube-scheduler, over objects as the API server stores them."""
