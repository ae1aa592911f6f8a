"""The input of a simulation: what `afflint place` reads, and the objects that it leaves out."""
