"""``python -m deltaarrow.storage`` prints the table of S3's options for the page on stores."""

from deltaarrow.storage.s3_options import render_s3_options

__all__: list[str] = []

if __name__ == "__main__":
    print(render_s3_options())
