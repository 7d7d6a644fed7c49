"""The settings of a job as types, so that an editor completes and mypy checks them: job: linac.Job = {"train": {"epochs": 3}}.

Written by packaging/job_types.py from docs/reference/settings.md, which says what each means and its default."""

from typing import Any, TypedDict


TrainAuditFault = TypedDict(
    "TrainAuditFault",
    {
        "in": str,
        "worker": int,
        "step": int,
    },
    total=False,
)


class TrainScheduleDrops(TypedDict, total=False):
    epoch: int
    factor: float


class TrainSchedulePlateau(TypedDict, total=False):
    patience: int
    monitor: str
    mode: str
    factor: float
    factor_min: float
    min_delta: float
    cooldown: int


class TrainSyncGem(TypedDict, total=False):
    kappa: float
    momentum: float


class TrainSyncOuter(TypedDict, total=False):
    lr: float
    momentum: float
    nesterov: bool


class TrainSyncSchedule(TypedDict, total=False):
    seed: int
    delays: float


class DataFields(TypedDict, total=False):
    image: str
    energy: str
    angle: str


class DataInputs(TypedDict, total=False):
    name: str
    column: str
    columns: str | list[str]
    scaling: str
    shape: int | list[int]
    classes: str | list[str]


class DataLists(TypedDict, total=False):
    columns: str | list[str]
    filter: str
    sort: str
    first: int


class DataSplit(TypedDict, total=False):
    key: str | list[str]
    validation: float
    test: float
    fold: str


class DataTargets(TypedDict, total=False):
    name: str
    column: str
    columns: str | list[str]
    scaling: str
    shape: int | list[int]
    classes: str | list[str]


class ModelLossWeights(TypedDict, total=False):
    generation: float
    auxiliary: float
    angle: float
    ecal: float
    profiles: float
    spectrum: float
    observables: float


class ModelTransformer(TypedDict, total=False):
    width: int
    heads: int
    inner: int


class TrainAudit(TypedDict, total=False):
    rate: float
    fault: TrainAuditFault


class TrainCollapse(TypedDict, total=False):
    action: str
    rollbacks: int
    lr_factor: float


class TrainEarlyStopping(TypedDict, total=False):
    patience: int
    monitor: str
    mode: str
    min_delta: float
    start_from_epoch: int
    baseline: str
    restore_best: bool


class TrainFit(TypedDict, total=False):
    loss: str | list[str]
    loss_weights: float | list[float]
    metrics: str | list[str]
    weighted_metrics: str | list[str]
    class_weight: float | list[float]
    class_balance: str
    label_smoothing: float
    from_logits: bool


class TrainOptimizer(TypedDict, total=False):
    name: str
    lr: float
    momentum: float
    nesterov: bool
    rho: float
    centered: bool
    beta_1: float
    beta_2: float
    amsgrad: bool
    epsilon: float
    initial_accumulator_value: float
    weight_decay: float
    global_clipnorm: float
    clipvalue: float
    restore: bool


class TrainSchedule(TypedDict, total=False):
    scale_with_replicas: str
    warmup_epochs: float
    drops: list[TrainScheduleDrops]
    decay: str
    decay_epochs: float
    decay_factor_min: float
    plateau: TrainSchedulePlateau


class TrainSplit(TypedDict, total=False):
    x: int
    y: int
    z: int


class TrainSync(TypedDict, total=False):
    mode: str
    groups: int
    every: int
    begin: int
    moments: str
    exchange: str
    copies: bool
    beta: float
    push: float
    max_staleness: int
    replay: str
    outer: TrainSyncOuter
    gem: TrainSyncGem
    schedule: TrainSyncSchedule


class Budget(TypedDict, total=False):
    steps: int
    hours: float
    money: float
    kwh: float
    co2_kg: float
    price: float
    watts: float
    co2_g_per_kwh: float


class Checkpoint(TypedDict, total=False):
    every_epochs: int
    every_minutes: float
    every_steps: int
    keep: int
    best_by: str
    best_mode: str


class Data(TypedDict, total=False):
    train: str | list[str]
    test: str | list[str]
    validation_split: float
    inputs: list[DataInputs]
    targets: list[DataTargets]
    event_weight: str
    scaling: str
    classes: str | list[str]
    filter: str
    train_filter: str
    define: dict[str, Any]
    lists: list[DataLists]
    scale: float
    threshold: float
    min_sum: float
    prefetch: int | str
    prefetch_files: int | str
    prefetch_reads: int | str
    shuffle_window: int
    share: bool
    split: DataSplit
    fields: DataFields


class Distribution(TypedDict, total=False):
    workers_min: int
    stall_timeout_s: float
    restarts: int
    balance: bool
    on_sigterm: str
    devices_per_worker: int


Model = TypedDict(
    "Model",
    {
        "kind": str,
        "from": str,
        "file": str,
        "generator": str,
        "discriminator": str,
        "latent": int,
        "power": float,
        "loss_weights": ModelLossWeights,
        "generator_channels": int,
        "generator_filters": int | list[int],
        "discriminator_filters": int | list[int],
        "dropout": float,
        "leaky_slope": float,
        "freeze_norms": bool,
        "variant": str,
        "particles": int,
        "units": int,
        "dense_units": int | list[int],
        "hlf_units": int | list[int],
        "transformer": ModelTransformer,
        "layers": dict[str, Any],
        "options": dict[str, Any],
        "geometry": str,
        "entry": str | list[str],
        "hidden": int,
        "layer_hidden": int,
        "classes": int,
        "components": int,
        "core_cells": float,
        "ring_cells": float,
        "halo_cells": float,
        "memory": float,
    },
    total=False,
)


class Plan(TypedDict, total=False):
    on: str
    start_s: float | list[float]
    step_s: float | list[float]
    jitter: float | list[float]
    hours: float | list[float]
    money: float | list[float]
    kwh: float | list[float]
    co2_kg: float | list[float]
    memory_gib: float


class Train(TypedDict, total=False):
    epochs: int
    max_steps: int
    steps_per_epoch: int
    replicas: int
    batch: int
    accumulate: int
    seed: int
    threads: int
    precision: str
    exchange: str
    kernels: str
    device: str
    flip: float
    discriminator_first: int
    sync: TrainSync
    optimizer: TrainOptimizer
    schedule: TrainSchedule
    early_stopping: TrainEarlyStopping
    collapse: TrainCollapse
    audit: TrainAudit
    split: TrainSplit
    fit: TrainFit


class Validate(TypedDict, total=False):
    every_epochs: int
    events: int
    threshold_gev: float


class Job(TypedDict, total=False):
    name: str
    workers: int
    secrets: str | list[str]
    model: Model
    data: Data
    train: Train
    validate: Validate
    checkpoint: Checkpoint
    budget: Budget
    plan: Plan
    distribution: Distribution
