#!/usr/bin/env python3
"""Optuna's own acceptance tests for samplers of third parties (optuna.testing, Optuna 5), over a sampler that asks and tells a study at a service of
linac. `optuna_acceptance_test.py [OPTIONS OF PYTEST]`. Exit 77 without Optuna.

A study of linac has its space from the beginning, and a point that it has not suggested itself cannot be told to it over HTTP. So the adapter has a study
there for each space that Optuna comes to, and each learns from its own trials alone.

What does not apply:
- StorageTestCase, over the same interface: a BaseStorage makes trials that nobody has suggested, sets their parameters one by one and in any state, has
  attributes of studies and trials, and deletes studies. The service has none of these. What goes to Optuna's storages and back is its journal file
  (optuna_test.py).
- SingleOnlySamplerTestCase: it wants several objectives refused for independent parameters as well, which the adapter draws at random. A study of `cma-es`
  or `gp` with several objectives is refused when it is made.
"""

import json
import math
import os
import secrets
import sys
import threading
import urllib.error
import urllib.request

try:
    import optuna
    import pytest
    from optuna.testing import pytest_samplers
except ImportError as error:
    print(f"{error}: skipped")
    sys.exit(77)

from lib.server_process import Service

optuna.logging.set_verbosity(optuna.logging.ERROR)


class Remote:
    """The interface of one service."""

    def __init__(self, service: Service):
        self.url, self.token = service.url + "/api/v1/studies", service.token

    def post(self, path: str, **body) -> dict:
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        try:
            return json.load(urllib.request.urlopen(request, timeout=60))
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()) from error


remote: Remote | None = None


def parameter_of(distribution) -> dict:
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        return {"kind": "categorical", "choices": [f"c{i}" for i in range(len(distribution.choices))]}  # choices of linac are texts
    ends = {"low": distribution.low, "high": distribution.high}
    if isinstance(distribution, optuna.distributions.IntDistribution):
        return ends | {"kind": "integer", "log": distribution.log} | ({} if distribution.log else {"step": distribution.step})
    return ends | {"kind": "log" if distribution.log else "uniform"} | ({"step": distribution.step} if distribution.step else {})


def value_of(distribution, value):
    if isinstance(distribution, optuna.distributions.CategoricalDistribution):
        return distribution.choices[int(value[1:])]
    return int(value) if isinstance(distribution, optuna.distributions.IntDistribution) else float(value)


class LinacSampler(optuna.samplers.BaseSampler):
    def __init__(self, name: str):
        self.name, self.studies, self.asked = name, {}, {}
        self.lock = threading.Lock()
        self.search_space = optuna.search_space.IntersectionSearchSpace()

    def infer_relative_search_space(self, study, trial):
        return {name: one for name, one in self.search_space.calculate(study).items() if not one.single()}

    def _study(self, study, space: dict, sampler: str) -> str:
        key = json.dumps([study._study_id, sampler, {name: optuna.distributions.distribution_to_json(one) for name, one in space.items()}])
        with self.lock:
            if key not in self.studies:
                objective = [{"metric": f"v{i}", "direction": direction.name.lower()} for i, direction in enumerate(study.directions)]
                text = {"search": {name: parameter_of(one) for name, one in space.items()}, "objective": objective, "sampler": {"name": sampler},
                        "budget": {"trials": 10000}}
                name = "s" + secrets.token_hex(8)
                remote.post("", name=name, study=json.dumps(text))
                self.studies[key] = name
            return self.studies[key]

    def _ask(self, study, trial, space: dict, sampler: str) -> dict:
        name = self._study(study, space, sampler)
        lease = secrets.token_hex(16)
        asked = remote.post(f"/{name}/ask", lease=lease, seconds=600)
        self.asked.setdefault(trial.number, []).append((name, asked["trial"], lease))
        return {one: value_of(distribution, asked["point"][one]) for one, distribution in space.items()}

    def sample_relative(self, study, trial, search_space):
        return self._ask(study, trial, search_space, self.name) if search_space else {}

    def sample_independent(self, study, trial, param_name, param_distribution):
        if param_distribution.single():
            return value_of(param_distribution, "c0" if isinstance(param_distribution, optuna.distributions.CategoricalDistribution) else param_distribution.low)
        return self._ask(study, trial, {param_name: param_distribution}, "random")[param_name]

    def after_trial(self, study, trial, state, values):
        for name, number, lease in self.asked.pop(trial.number, []):
            told = {"state": "failed", "reason": state.name} if values is None else {"values": [value if math.isfinite(value) else "NaN" for value in values]}
            remote.post(f"/{name}/trials/{number}/tell", lease=lease, **told)


class _Sampler:
    name = ""

    @pytest.fixture
    def sampler(self):
        return lambda: LinacSampler(self.name)


class TestTpe(_Sampler, pytest_samplers.BasicSamplerTestCase, pytest_samplers.RelativeSamplerTestCase):
    name = "tpe"


class TestGp(_Sampler, pytest_samplers.RelativeSamplerTestCase):
    name = "gp"


class TestCmaEs(_Sampler, pytest_samplers.RelativeSamplerTestCase):
    name = "cma-es"


class TestNsga(_Sampler, pytest_samplers.RelativeSamplerTestCase, pytest_samplers.MultiObjectiveSamplerTestCase):
    name = "nsga-ii"


if __name__ == "__main__":
    with Service() as service:
        sys.modules["optuna_acceptance_test"] = sys.modules["__main__"]  # pytest takes this module as it is
        remote = Remote(service)
        os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "--durations=5", "-W", "ignore", __file__, *sys.argv[1:]]))
