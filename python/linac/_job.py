Job = dict
