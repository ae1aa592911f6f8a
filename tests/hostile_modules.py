"""A folder whose Python modules have the names of those that afflint imports: running one of them leaves a trace."""

import sys
from pathlib import Path

_INSTALLED = ("afflint", "attr", "attrs", "click", "distributed", "jsonschema", "pip", "platformdirs", "ruamel", "tomli", "watchfiles")


def write_modules(folder: Path, trace: Path) -> None:
    """Write one module for each name into a folder. Any that is imported writes its name into ``trace``, and fails."""
    code = f'open({str(trace)!r}, "a").write(__name__ + "\\n")\nraise SystemExit("code of the linted tree ran")\n'
    for name in (*sys.stdlib_module_names, *_INSTALLED, "sitecustomize", "usercustomize"):
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    for name in ("pip", "afflint", "multiprocessing"):
        (folder / name).mkdir()
        for module in ("__init__", "__main__"):
            (folder / name / f"{module}.py").write_text(code, encoding="utf-8")
