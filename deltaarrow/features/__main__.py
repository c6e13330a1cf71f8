"""``python -m deltaarrow.features`` prints the tables of features and properties of the README."""

from deltaarrow.features.readme import readme_property_table, readme_table

__all__: list[str] = []

if __name__ == "__main__":
    print(readme_table(), readme_property_table(), sep="\n", end="")
