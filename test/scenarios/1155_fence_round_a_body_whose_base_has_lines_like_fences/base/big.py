# -*- coding: utf-8 -*-
"""
tool
~~~~
"""

Y = 1
