"""What kustomize and Helm make of a repository, by the user's own programs, and where in its source each piece of that is written."""
