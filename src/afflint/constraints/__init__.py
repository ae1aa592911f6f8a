"""The parsed placement constraints of pods, shared by the scheduler, the index, policies, checks, pools and the language server.

``afflint.kube.constraints`` finds the maps of a pod spec with their paths; these modules parse each map once into plain values.
"""
