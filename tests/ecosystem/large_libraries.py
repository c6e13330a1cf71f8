"""Calls of the libraries of the extra `ecosystem`, which take long to import; the slow suite runs them."""

import pickle
from typing import Any

import pyarrow as pa

import deltaarrow as da
from tests.ecosystem.calls import Call, Given, ids

__all__ = ["LARGE"]

PAST_THE_LOG = "reads data files past the Delta log"


def _daft(given: Given) -> pa.Table:
    import daft

    return daft.from_arrow(given.dataset.to_table(columns=["id"])).to_arrow()


def _daft_fragments(given: Given) -> pa.Table:
    import daft

    return daft.from_arrow(fragment.to_table(columns=["id"]) for fragment in given.fragments).to_arrow()


def _daft_dataset(given: Given) -> pa.Table:
    import daft

    return daft.from_arrow(given.dataset).to_arrow()


def _write_daft(given: Given) -> pa.Table:
    import daft

    frame = daft.from_arrow(given.dataset.to_table(columns=["id"]))
    da.write_deltalake(given.folder / "written", frame.to_arrow())
    return da.DeltaTable(given.folder / "written").to_pyarrow_table()


def _lance(given: Given, data: Any) -> pa.Table:
    import lance

    return lance.write_dataset(data, str(given.folder / "written")).to_table()


def _datasets(given: Given, data: Any) -> Any:
    import datasets

    return datasets.Dataset(data).with_format("arrow")[:]


def _read(fragments: Any) -> Any:
    for fragment in fragments:
        for batch in fragment.to_batches(columns=["id"]):
            yield from batch.to_pylist()


def _stream(given: Given) -> list[dict[str, Any]]:
    import datasets

    features = datasets.Features.from_arrow_schema(pa.schema([("id", pa.int64())]))
    found = datasets.IterableDataset.from_generator(
        _read, features=features, gen_kwargs={"fragments": given.fragments}
    )
    assert found.num_shards == len(given.fragments)
    return list(found)


def _torch(given: Given) -> list[dict[str, Any]]:
    import torch.utils.data

    class Rows(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return _read(given.fragments)

    loader = torch.utils.data.DataLoader(Rows(), batch_size=None)
    return [{"id": int(row["id"])} for row in loader]


def _on_ray(run: Any) -> Any:
    def with_ray(given: Given) -> Any:
        import ray

        if not ray.is_initialized():
            ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        return run(ray, given)

    return with_ray


def _ray_tables(ray: Any, given: Given) -> list[dict[str, Any]]:
    return list(ray.data.from_arrow(given.dataset.to_table(columns=["id"])).iter_rows())


def _ray_fragments(ray: Any, given: Given) -> list[dict[str, Any]]:
    def read(batch: Any) -> Any:
        # Inside, so that the workers get it by value: they do not import the tests.
        for fragment in batch["fragment"]:
            yield pickle.loads(fragment).to_table(columns=["id"])

    items = [{"fragment": pickle.dumps(fragment)} for fragment in given.fragments]
    parts = ray.data.from_items(items, override_num_blocks=len(items))
    return list(parts.map_batches(read, batch_size=1).iter_rows())


LARGE = [
    Call("daft", "daft.from_arrow(D.to_table())", _daft, ids),
    Call("daft", "daft.from_arrow(fragment.to_table() for ...)", _daft_fragments, ids),
    Call("daft", "daft.from_arrow(D)", _daft_dataset, error=AssertionError),
    Call("daft", "da.write_deltalake(folder, frame.to_arrow())", _write_daft, ids),
    Call(
        "lance",
        "lance.write_dataset(D.scanner().to_reader(), folder)",
        lambda g: _lance(g, g.dataset.scanner().to_reader()),
    ),
    Call(
        "lance",
        "lance.write_dataset(D, folder)",
        lambda g: _lance(g, g.dataset),
        error=OSError,
        told=PAST_THE_LOG,
    ),
    Call("datasets", "datasets.Dataset(D.to_table())", lambda g: _datasets(g, g.dataset.to_table())),
    Call(
        "datasets",
        "datasets.Dataset(D)",
        lambda g: _datasets(g, g.dataset),
        error=TypeError,
        told="Expected a pyarrow.Table",
    ),
    Call("datasets", "datasets.IterableDataset.from_generator(read, fragments)", _stream, ids),
    Call("torch", "DataLoader of an IterableDataset over fragments", _torch, ids),
    Call("ray", "ray.data.from_arrow(D.to_table())", _on_ray(_ray_tables), ids),
    Call("ray", "map_batches(read) over pickled fragments", _on_ray(_ray_fragments), ids),
]
