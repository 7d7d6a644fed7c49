#pragma once
// Axes for a study's parameters and values. Thread-safe for different figures.

#include "linac/physics/plot/axis.h"
#include "linac/physics/report/study/record.h"

namespace linac::report {

/// An axis for a parameter; its ends lie a little beyond the range. Choices: positions, without ticks of its own.
plot::Axis axis_of(const StudyParameter& parameter);

/// Below `area`: the axis with ticks, or the names of choices.
void draw_parameter_axis(plot::Figure& figure, const plot::Rect& area, const StudyParameter& parameter);

/// An axis for the values of an objective which are finite: those of the worst few may lie beyond it, where they would
/// hide all others.
plot::Axis values_axis(const std::vector<double>& values, const StudyObjective& objective);

/// A trial's value of the first objective: as told, or the last one of a trial that was pruned; NaN: none.
double value_of(const StudyTrial& trial);

}  // namespace linac::report
