# shellcheck shell=bash
verb_demo() { die todo; }
