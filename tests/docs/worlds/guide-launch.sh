# Where sites are declared.
mkdir -p ~/.config/linac
