// The interface to the system's responder of multicast DNS: Bonjour on Apple platforms, Avahi on Linux.
#pragma once
#include <dns_sd.h>
