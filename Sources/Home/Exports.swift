// Code that throws or catches errors of a home needs their reasons too.
@_exported public import Reasons
