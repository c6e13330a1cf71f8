"""Hooks of runs, models, seeds and snapshots.

A profile of the adapter has no name of a database, host or user, which hooks of the classes write down.
"""

from dbt.tests.adapter.hooks.test_model_hooks import (
    BaseDuplicateHooksInConfigs as TestDuplicateHooksInConfigs,
    BaseHookRefs,
    BaseHooksRefsOnSeeds as TestHooksRefsOnSeeds,
    BasePrePostModelHooks,
    BasePrePostModelHooksInConfig,
    BasePrePostModelHooksInConfigKwargs,
    BasePrePostModelHooksInConfigWithCount,
    BasePrePostModelHooksOnSeeds as TestPrePostModelHooksOnSeeds,
    BasePrePostModelHooksOnSeedsPlusPrefixed as TestPrePostModelHooksOnSeedsPlusPrefixed,
    BasePrePostModelHooksOnSeedsPlusPrefixedWhitespace as TestPrePostModelHooksOnSeedsPlusPrefixedWhitespace,
    BasePrePostModelHooksOnSnapshots as TestPrePostModelHooksOnSnapshots,
    BasePrePostSnapshotHooksInConfigKwargs as TestPrePostSnapshotHooksInConfigKwargs,
)
from dbt.tests.adapter.hooks.test_run_hooks import BaseAfterRunHooks as TestAfterRunHooks, BasePrePostRunHooks


def ensure_of_the_target(context, state, project):
    found = {name: context[f"target_{name}"] for name in ("name", "schema", "threads", "type")}
    assert found == {"name": "default", "schema": project.test_schema, "threads": 2, "type": "deltaarrow"}
    assert context["test_state"] == state
    assert context["run_started_at"] and context["invocation_id"] and context["thread_id"]


class OfModels:
    def check_hooks(self, state, project, host, count=1):
        for context in self.get_ctx_vars(state, count=count, project=project):
            ensure_of_the_target(context, state, project)


class TestHookRefs(OfModels, BaseHookRefs):
    pass


class TestPrePostModelHooks(OfModels, BasePrePostModelHooks):
    pass


class TestPrePostModelHooksInConfig(OfModels, BasePrePostModelHooksInConfig):
    pass


class TestPrePostModelHooksInConfigKwargs(OfModels, BasePrePostModelHooksInConfigKwargs):
    pass


class TestPrePostModelHooksInConfigWithCount(OfModels, BasePrePostModelHooksInConfigWithCount):
    pass


class TestPrePostRunHooks(BasePrePostRunHooks):
    def check_hooks(self, state, project, host):
        ensure_of_the_target(self.get_ctx_vars(state, project), state, project)
