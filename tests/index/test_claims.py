"""The access modes of the claims of virtual machines, by the manifests of claims and of the DataVolumes that create them."""

from linting import messages_of

MACHINE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: scan}
spec:
  runStrategy: Always
  template:
    spec:
      evictionStrategy: LiveMigrate
      domain: {devices: {interfaces: [{name: n, masquerade: {}}]}}
      networks: [{name: n, pod: {}}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
"""


def claim(mode: str, *, namespace: str = "") -> str:
    return f"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data{namespace}}}\nspec: {{accessModes: [{mode}]}}\n"


def volume(mode: str) -> str:
    spec = f"{{storage: {{accessModes: [{mode}]}}}}"
    return f"---\napiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {{name: data}}\nspec: {spec}\n"


def is_reported(*manifests: str) -> bool:
    """Whether the virtual machine is said to be unable to migrate, at the volume."""
    found = messages_of(MACHINE + "".join(manifests), "migration-impossible")
    assert [each.partition(" ")[0] for each in found] in ([], ["11:18"]), found
    return bool(found)


def test_a_claim_takes_precedence_over_the_data_volume_that_creates_it() -> None:
    once, many = "ReadWriteOnce", "ReadWriteMany"
    assert is_reported(volume(once))
    assert not is_reported(volume(once), claim(many))
    assert not is_reported(claim(many), volume(once))
    assert is_reported(volume(many), claim(once))


def test_a_claim_without_a_namespace_is_in_the_default_namespace() -> None:
    assert is_reported(claim("ReadWriteOnce", namespace=", namespace: default"))
    assert not is_reported(claim("ReadWriteOnce", namespace=", namespace: shop"))
