# What another program searches.
cat >space.yaml <<END
search: {x: {low: 0, high: 1}}
objective: {metric: loss, direction: minimize}
sampler: {name: random}
budget: {trials: 5}
END
