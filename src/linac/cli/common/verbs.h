#pragma once
// The table of verbs, in the order of the help. A verb is a file NAME.cpp that defines add_NAME_verb(), in the folder
// of the program that carries it out (cli/compute, cli/data, cli/control), and its line here: the programs, and what
// the one hands on to the others, follow from it.
//
// COMPUTE(name, summary): of `linac-compute`. DATA(name, summary): of `linac-data`, which has no LibTorch, and of
// `linac-compute` too. The summary is here, so that `linac` shows it in its help without starting those programs.
// CONTROL(name): of `linac` itself, whose file has the summary.

// clang-format off
#define LINAC_VERBS(COMPUTE, DATA, CONTROL)                                                      \
  COMPUTE(train, "Trains the model of a job file")                                               \
  COMPUTE(check, "Says whether a job would run and what it needs, before it costs anything")     \
  COMPUTE(plan, "What a training would take: time, money and energy here and elsewhere, with "   \
                "intervals")                                                                     \
  COMPUTE(generate, "Makes showers with a trained generator")                                    \
  COMPUTE(predict, "Computes every output of a Keras model for events in files")                 \
  COMPUTE(evaluate, "Scores of a model's predictions on labelled events: table, report")         \
  DATA(report, "Where the time and the money of a run went: efficiency, workers, cost")          \
  COMPUTE(validate, "Compares showers with Monte Carlo: figures, report, gate")                  \
  COMPUTE(simulate, "Makes electron showers in a sampling calorimeter by a fast parametrised "   \
                    "simulation (Grindhammer and Peters, hep-ex/0001020)")                       \
  DATA(data, "Looks into data files, verifies, copies, converts and splits them")                \
  DATA(cache, "What lies in the cache folder: lists, removes and verifies it")                   \
  COMPUTE(export, "Writes a trained network for other programs, for Keras or as ONNX")           \
  COMPUTE(models, "The catalog of models at a service: versions, aliases, stages, files")        \
  COMPUTE(bench, "Measures this machine with this program")                                      \
  COMPUTE(version, "What this program is made of and the instruction set it found")              \
  CONTROL(serve)                                                                                 \
  CONTROL(submit)                                                                                \
  CONTROL(status)                                                                                \
  CONTROL(list)                                                                                  \
  CONTROL(logs)                                                                                  \
  CONTROL(cancel)                                                                                \
  CONTROL(resume)                                                                                \
  CONTROL(artifacts)                                                                             \
  CONTROL(experiments)                                                                           \
  CONTROL(ingest)                                                                                \
  CONTROL(secrets)                                                                               \
  CONTROL(login)                                                                                 \
  CONTROL(agent)                                                                                 \
  CONTROL(agents)                                                                                \
  CONTROL(hosts)                                                                                 \
  CONTROL(relay)                                                                                 \
  CONTROL(sites)                                                                                 \
  CONTROL(launch)                                                                                \
  CONTROL(spawn)                                                                                 \
  CONTROL(tune)                                                                                  \
  CONTROL(study)                                                                                 \
  CONTROL(help)                                                                                  \
  CONTROL(supervise)
// clang-format on

/// For the verbs of other programs.
#define LINAC_NO_VERB(...)
