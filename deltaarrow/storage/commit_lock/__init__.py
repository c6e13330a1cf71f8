"""Commits to S3 under a lock in DynamoDB."""

__all__: list[str] = []
