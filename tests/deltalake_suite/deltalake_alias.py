"""A plugin of pytest under which `import deltalake` means deltaarrow.

A name that deltaarrow lacks is a placeholder, so that a file of the suite is still collected: the tests that
use the placeholder fail.

Expressions are deltalake's (`set_default_dialect`), as docs/from-deltalake.md tells users who move a script.
The suite asks the private `DeltaTable._table` for the URI of a table, which is public as `table_uri`; so the
harness, not the package, gives `_table` that one method.
"""

import importlib.abc
import importlib.util
import pathlib
import pkgutil
import sys
import types


def placeholder(name):
    """Return a class of this name that cannot be used."""

    def fail(*_arguments, **_options):
        raise NotImplementedError(f"deltaarrow has no {name}")

    return type(name, (), {"__init__": fail, "__class_getitem__": classmethod(lambda own, _: own)})


class Alias(types.ModuleType):
    """A module of deltalake by its name, with what the module of deltaarrow offers, or else the package."""

    def __init__(self, name, modules):
        super().__init__(name)
        self.__dict__.update(_modules=modules, __path__=[])

    def __getattr__(self, name):
        if name.startswith("__") and name not in ("__version__", "__all__"):
            raise AttributeError(name)
        if name == "_NANOSECOND_TIMESTAMPS":  # whether deltalake's native code was built with them
            return False
        if name in ("_disable_nanosecond_timestamps", "_nanosecond_timestamps_enabled"):
            return lambda: None
        for module in self._modules:
            if hasattr(module, name):
                return getattr(module, name)
        return placeholder(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds deltalake and its modules."""

    def find_spec(self, name, path=None, target=None):
        known = name == "deltalake" or name.startswith("deltalake.")
        return importlib.util.spec_from_loader(name, self) if known else None

    def create_module(self, spec):
        ours = package.__name__ + spec.name.removeprefix("deltalake")
        known = importlib.util.find_spec(ours) if spec.parent in ("", "deltalake") else None
        return Alias(spec.name, [pkgutil.resolve_name(ours), package] if known else [package])

    def exec_module(self, module):
        pass


class NativeTable:
    """A descriptor: the one method of `DeltaTable._table` that tests of public behaviour call.

    A test that replaces what tells deltalake its history would pass without testing anything, so it fails.
    """

    def __set__(self, table, replaced):
        if hasattr(type(replaced), "history"):
            raise AttributeError("history is not asked of a native table")

    def __get__(self, table, owner):
        return types.SimpleNamespace(table_uri=lambda: pathlib.Path(table.table_uri).absolute().as_uri())


package = pkgutil.resolve_name("deltaarrow")
package.set_default_dialect("deltalake")
package.DeltaTable._table = NativeTable()
for name in [each for each in sys.modules if each == "deltalake" or each.startswith("deltalake.")]:
    del sys.modules[name]
sys.meta_path.insert(0, Finder())
