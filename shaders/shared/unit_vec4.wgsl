// The unit in which page kernels move bytes: 16 bytes, for pages that are a multiple of that.
alias Unit = vec4u;
