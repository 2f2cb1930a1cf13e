"""The audit in shards: rows exchange attributes within shards only, and statistics are summed.

On one machine shard after shard, or through Dask; the numbers are the same.
"""
