"""``python -m deltaarrow.features`` prints the tables of the reference pages for features and properties."""

from deltaarrow.features.reference import render_feature_table, render_property_table

__all__: list[str] = []

if __name__ == "__main__":
    print(render_feature_table(), render_property_table(), sep="\n", end="")
