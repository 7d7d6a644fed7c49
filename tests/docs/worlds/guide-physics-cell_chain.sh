# Only so that trainings are short.
