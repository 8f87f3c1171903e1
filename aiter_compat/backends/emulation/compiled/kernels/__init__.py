"""The code that numba compiles; importing any module of it needs numba, importing `layer` compiles."""
