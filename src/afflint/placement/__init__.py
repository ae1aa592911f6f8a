"""Simulation of scheduling and disruptions: on which nodes pods can be scheduled, with which scores, and what failures and drains do."""
