"""Everything Lycosa raises at its user.

    LycosaError            the job failed; exit code 1
    ├── UsageError         what was typed or written is wrong; exit code 2
    │   └── RecipeError    the recipe (lycosa.toml) or a file it names is wrong
    ├── CollectionError    the collection cannot be read or written as it is
    └── PluginError        a plug-in of another package is broken

The message is one line and names the way out. Trouble on the Web is not here: it is an `Outcome`.
"""


class LycosaError(Exception):
    exit_code = 1


class UsageError(LycosaError):
    exit_code = 2


class RecipeError(UsageError):
    pass


class CollectionError(LycosaError):
    pass


class PluginError(LycosaError):
    pass
