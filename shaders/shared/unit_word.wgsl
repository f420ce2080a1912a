// The unit in which page kernels move bytes: one word, for pages of any size.
alias Unit = u32;
