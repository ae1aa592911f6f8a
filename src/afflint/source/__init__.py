"""Files: which ones a run reads, their bytes, kustomizations, and atomic writes."""
