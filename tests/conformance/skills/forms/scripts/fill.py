print("name:", input("name? "))
print("date:", input("date? "))
