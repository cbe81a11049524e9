// Who throws or catches what is wrong with a home has its reasons at hand.
@_exported public import Reasons
