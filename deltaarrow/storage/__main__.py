"""``python -m deltaarrow.storage`` prints the tables of options for the page on stores."""

from deltaarrow.storage.azure.options import AZURE_OPTIONS
from deltaarrow.storage.gcs.options import GCS_OPTIONS
from deltaarrow.storage.hf.options import HF_OPTIONS
from deltaarrow.storage.s3.options import S3_OPTIONS

__all__: list[str] = []

if __name__ == "__main__":
    tables = {"s3": S3_OPTIONS, "gcs": GCS_OPTIONS, "azure": AZURE_OPTIONS, "hf": HF_OPTIONS}
    for name, table in tables.items():
        print(f"<!-- {name}_options -->\n{table.render()}\n")
