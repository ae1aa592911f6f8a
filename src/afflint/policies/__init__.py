"""Policies: an organisation's requirements for placement, as data in its configuration.

A policy names a check, its parameters, and the workloads that it applies to. A run without policies imports only `policy`. CONTRIBUTING.md
describes how to add a check.

``matching.Matching`` has the conditions of ``match`` and ``exclude``. All must be true; a condition whose answer is unknown is false
in both. The user's message may contain the fields of ``messages.FIELDS``.

ValidatingAdmissionPolicies (``admission_manifests.py``) come from manifests that ``policies`` names. Each is a rule with the name of the
policy and the subject ``admission``; ``checks/policies/cluster_policies.py`` applies them to objects of any kind. If a policy cannot be
evaluated for an object, the check raises ``subject.UnevaluatedError``, which is reported as "not evaluated". ``admission/cel.py`` evaluates
CEL expressions.

The policy sets of afflint (``extends: ["afflint:strict"]``) are ordinary configurations such as ``rules/profiles/strict.yaml``.
"""
