"""Policies: an organisation's requirements for placement, as data in its configuration.

A policy names a check, its parameters, and the workloads that it applies to. A run without policies imports only `policy`.

How to add a check:

1. **Parameters**: write a frozen dataclass whose fields are made by ``params.param``: the type (``params.TEXT``, ``params.LABELS``,
   ``params.number`` and so on), a description, and the default. ``-`` in the configuration is ``_`` in the field. Schema, messages with the
   nearest valid word, and help are generated from it; the check receives an instance. A family of checks has its parameters in one module
   of this package (such as ``manifest_params.py``), which imports little more than ``params``.
2. **Registry**: add an entry to ``registry.CHECKS``. Then ``python -m tools.generate policies`` writes the schema of the configuration.
3. **Function**: write it in ``checks/policies``, one module for each family. Its signature depends on the subject of the check:

   - ``policy``: ``check(subject, params)`` yields ``Match`` for one workload that the policy applies to. It is called twice. First in the
     map step, where ``subject.manifest_index`` is None because the facts of other manifests are not available: a match there makes the
     workload a policy candidate and is not reported, so the check must yield one wherever other manifests could make a violation. Then,
     for candidates, in the reduce step with the index of all manifests: these matches are reported. A workload without a match in the map
     step is never a violation.
   - ``outcome``: ``check(subjects, params, view)`` yields ``CrossManifestMatch``, once for all workloads that the policy applies to, in
     runs with nodes. ``view`` is an ``inventory.cluster_view.ClusterView``.

   A check that reports missing fields says so in the registry (``lacks``): it runs on complete manifests only, never on patches. The pods
   of a custom resource are complete if afflint knows what its operator adds. A check with ``object`` gets the whole object as plain data.
4. **Messages** begin in lower case and contain a counterexample (``term 2 allows a node with performance=low``). The help is imperative.
   ``pipeline/policy_evaluation.py`` adds the names of rule and policy, the severity and the user's own message.

``matching.Matching`` has the conditions of ``match`` and ``exclude``. All must be true; a condition whose answer is unknown is false
in both. The user's message may contain the fields of ``messages.FIELDS``.

ValidatingAdmissionPolicies (``admission_manifests.py``) come from manifests that ``policies`` names. Each is a rule with the name of the
policy and the subject ``admission``; ``pipeline/cluster_policies.py`` applies them to objects of any kind. If a policy cannot be evaluated
for an object, the check raises ``subject.UnevaluatedError``, which is reported as "not evaluated". ``admission/cel.py`` evaluates CEL
expressions.

The policy sets of afflint (``extends: ["afflint:strict"]``) are ordinary configurations such as ``rules/profiles/strict.yaml``.
"""
