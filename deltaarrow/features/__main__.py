"""``python -m deltaarrow.features`` prints the feature table of the README."""

from deltaarrow.features.readme import readme_table

__all__: list[str] = []

if __name__ == "__main__":
    print(readme_table(), end="")
