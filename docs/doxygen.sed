# Comments of the public headers as Doxygen wants them: the lines "shapes ..", "dtypes .." become a list.
/^ *\/\/\/ (shapes|dtypes|grads|errors|source|state)  /{
  s/ {3,}(dtypes|grads|errors|source)  +/\n\/\/\/ - **\1** /g
  s/^( *\/\/\/) (shapes|dtypes|grads|errors|source|state) +/\1 - **\2** /
}
