xaaax
