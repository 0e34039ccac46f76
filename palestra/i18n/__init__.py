"""The catalogues of Chinese (zh.po), and what keeps them in step with the code (po_files.py).

May be touched freely. What is said in both languages is made with `palestra.text.say`.
"""
