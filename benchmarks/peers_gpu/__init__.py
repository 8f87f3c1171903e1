"""What people have instead on a GPU: three algorithms written anew, and one library that is brought along.

The stand-ins follow the other projects' algorithms, not their code, and their kernels are made as fast as is
reasonable, so that a comparison says something about the algorithm. Each peer is a module with a class that has `name`
and `call(request)`; building it does what the other project does once, when it loads a model.
"""
