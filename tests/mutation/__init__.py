"""Mutants of captured programs: does every small change cost a program its verdict?"""
