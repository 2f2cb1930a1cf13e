"""The figures and tables of the FairICP paper, run again."""
