"""Whether a Python script can begin, without running it: `check.py NAME [--some-later] < SCRIPT`. It has to be Python for this interpreter, and what
it imports has to be there. Says "linac: ok script TEXT" and "linac: bad script TEXT"; the exit status is 1 after the latter. --some-later: packages
come before it starts, so that what is missing is no fault yet. For Python 3.6 and newer."""

import ast
import importlib.util
import os
import sys
import warnings


def is_type_checking(test):
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING")


def imports(body):
    """(line, module) of what is imported whenever the script runs: not within functions, nor where a failure is caught."""
    for node in body:
        if isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, name.name
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")
        elif isinstance(node, ast.ClassDef):
            yield from imports(node.body)
        elif isinstance(node, ast.With):
            yield from imports(node.body)
        elif isinstance(node, ast.If) and not is_type_checking(node.test) and not node.orelse:
            for line, module in imports(node.body):
                yield -line, module  # only if: told, and no fault


def there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def main():
    name, later = sys.argv[1], "--some-later" in sys.argv[2:]
    said = {True: "linac: ok script ", False: "linac: bad script "}
    bad = []
    # Neither our folder nor the one that happens to be the current: the script will not find modules there.
    sys.path[:] = [path for path in sys.path if path not in ("", os.path.dirname(os.path.abspath(sys.argv[0])), os.getcwd())]
    source = sys.stdin.buffer.read()
    version = "Python %d.%d.%d" % sys.version_info[:3]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source, name, "exec", dont_inherit=True)
            tree = ast.parse(source, name)
    except SyntaxError as error:
        print("%s%s:%s: %s (%s)" % (said[False], name, error.lineno or 1, error.msg, version))
        return 1
    except (ValueError, RecursionError, MemoryError) as error:
        print("%s%s: is no Python (%s; %s)" % (said[False], name, error, version))
        return 1
    seen = set()
    for line, module in imports(tree.body):
        top = module.split(".")[0]
        if module.startswith("."):
            bad.append("%s:%d: imports from its own package, and the script alone is brought; put it into one file" % (name, abs(line)))
        elif top not in seen and not there(top):
            if line > 0 and not later:
                bad.append("%s:%d: no module %s in %s; install it, or bring it with --pip" % (name, line, top, sys.executable))
            else:
                print("%s%s:%d: no module %s yet" % (said[True], name, abs(line), top))
        seen.add(top)
    for problem in bad:
        print(said[False] + problem)
    if not bad:
        print("%s%s: can begin with %s" % (said[True], name, version))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
