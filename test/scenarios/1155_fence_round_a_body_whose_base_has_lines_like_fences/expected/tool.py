# -*- coding: utf-8 -*-
"""
tool
~~~~
"""

X = 2
