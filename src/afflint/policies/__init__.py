"""Policies: what an organisation demands of placement, as data in its configuration.

A policy names a check, its parameters, and what it is about. Nothing in this room is imported by a run without policies.

CONTRACT, for whoever adds a check:

1. **Parameters**: a frozen dataclass whose fields are made by ``params.param``: what each takes (``params.TEXT``, ``params.LABELS``,
   ``params.number`` and so on), a sentence about it, and its default. ``-`` in the configuration is ``_`` in the field. Schema, mistakes
   with the nearest right word, and help are made of it; the check gets an instance. A family of checks has its parameters in a module of
   this room (``simple.py`` is one), which imports nothing but ``params``.
2. **The registry**: one entry of ``registry.CHECKS``, by the name of the check: where its parameters are (``module:class``), where the
   function is (``module:function``), its subject, and what it demands in a sentence, with what to do about it. Then ``python
   tests/policies/test_schema.py`` writes the schema of the configuration anew.
3. **The function** stands in ``checks/policies``, one module a family. By the subject of its check it is called

   - ``policy``: ``check(case, params)`` yields ``Match``, for each workload that the policy is about. It is asked twice. First alone, in
     the map step, where ``case.fleet`` is None: what it yields then makes the workload a suspect and is shown to nobody, so that it has to
     yield where anything might be wrong in whatever company. Then, for suspects, with ``case.fleet``, ``case.admission`` (what the
     namespace gives to its pods), and the number of pods that an autoscaler makes: what it yields now is reported. What company can make
     wrong in a workload that is right alone, it cannot find.
   - ``outcome``: ``check(cases, params, view)`` yields ``FleetMatch`` (``case.at(match)`` makes one), once for all workloads that the
     policy is about, in runs that have nodes: ``view`` is an ``inventory.cluster_view.ClusterView``. ``case.pods`` is there (and its
     ``pod_source``), ``case.constraints`` as far as ``case.pods.spec`` tells them.

   A check that judges what a manifest lacks says so in the registry (``lacks``): it is asked about whole manifests only, never about
   patches. What operators make is whole, as far as the catalogue knows its kind; ``case.operator`` has what the operator adds by itself.
   One with ``object`` gets the whole object in ``case.object``, as plain data.
4. **Messages** begin in lower case and hold a witness (``term 2 allows a node with performance=low``); the help says what to do and ends
   with a full stop. Names of rule and policy, severity and the user's own message are put in by ``judging``. The logic of selectors stands
   in ``kube/selectors.py``.

What a policy is about (``match`` and ``exclude``) is ``matching.Matching``: all its conditions have to hold; of what nobody can tell, no
condition of either holds. The user's message may hold the fields of ``messages.FIELDS``.

The cluster's own policies (``admission.py``) come out of manifests that ``policies`` names, each a rule by its own name whose subject is
``admission``: ``pipeline/cluster_policies.py`` applies them to objects of any kind,
by ``checks/policies/admission_policies.py``. What a check comes to no
result for, it raises as ``case.UnjudgedError``: that is told beside the findings. Expressions in CEL are evaluated by ``admission/cel.py``.

Files that ``policies`` names are read by ``config.loader._Loader._named_policies``: add other kinds of files with policies there.
Sets that come with afflint (``extends: ["afflint:strict"]``) are ``rules/profiles/strict.yaml``, configurations like any other.
"""
