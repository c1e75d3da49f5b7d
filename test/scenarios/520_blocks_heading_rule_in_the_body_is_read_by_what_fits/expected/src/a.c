Name
====
text
